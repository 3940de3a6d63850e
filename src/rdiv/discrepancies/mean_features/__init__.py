"""Tests by means of smooth features, placed where two samples differ most: ME and SCF."""
