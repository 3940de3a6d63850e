"""Where the parts of one computation run: here, in processes, or on a Dask cluster."""
