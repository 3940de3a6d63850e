"""Files: every format comes back as it was written, every broken file is one sentence."""

from __future__ import annotations

import builtins
import csv
import datetime as dt
import gzip
import io
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdiv.errors import InputFileError
from rdiv.samples.csv_files import MISSING
from rdiv.samples.files import read

FRAME = pl.DataFrame(
    {
        "age": [31, None, 45, 27],
        "height 📏": [1.5, 2.25, None, -1e-300],
        "<b>city</b>": ["Zürich", 'say "hi", twice', None, "two\nlines"],
        "sold": [True, False, None, True],
        "day": [dt.date(2024, 2, 29), None, dt.date(1969, 12, 31), dt.date(2000, 1, 1)],
        "at": [dt.datetime(2024, 2, 29, 12, 30, 15, 250000), None, None, dt.datetime(1900, 1, 1)],
        "last": ["a", "b", "c", None],
    }
)


def write(path: Path, frame: pl.DataFrame) -> None:
    """Write a frame in the format that the ending of the name asks for."""
    stream = io.BytesIO()
    writers: dict[str, Callable[[], object]] = {
        ".csv": lambda: frame.write_csv(stream),
        ".tsv": lambda: frame.write_csv(stream, separator="\t"),
        ".jsonl": lambda: frame.write_ndjson(stream),
        ".ndjson": lambda: frame.write_ndjson(stream),
        ".parquet": lambda: frame.write_parquet(stream),
        ".feather": lambda: frame.write_ipc(stream),
    }
    name = path.name.lower()
    writers[Path(name.removesuffix(".gz")).suffix]()
    data = stream.getvalue()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def save(tmp_path: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: object, error: type[Exception] = ValueError, **options: Any) -> str:
    """The message, after checking that it is one line that names the file."""
    with pytest.raises(error) as caught:
        read(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert re.search(r"[.?]$", message)
    assert Path(str(path).partition("::")[0]).name in message
    return message


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property."""
    return tmp_path_factory.mktemp("files")


class TestFormats:
    @pytest.mark.parametrize(
        "name",
        [
            *("a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.jsonl", "a.ndjson", "a.jsonl.gz"),
            *("a.parquet", "a.feather", "A.CSV", "a.b.csv", "a [1] *.parquet", "a.csv::b.csv"),
        ],
    )
    def test_a_frame_comes_back(self, tmp_path: Path, name: str) -> None:
        write(tmp_path / name, FRAME)
        assert read(tmp_path / name).equals(FRAME)

    def test_a_str_a_path_and_a_home_are_paths(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "a.csv", FRAME)
        monkeypatch.setenv("HOME", str(tmp_path))
        for path in (tmp_path / "a.csv", str(tmp_path / "a.csv"), "~/a.csv"):
            assert read(path).equals(FRAME)

    def test_an_npy_file_is_an_array(self, tmp_path: Path) -> None:
        array = np.arange(24.0).reshape(2, 3, 4)
        np.save(tmp_path / "a.npy", array)
        np.testing.assert_array_equal(read(tmp_path / "a.npy"), array)

    @pytest.mark.parametrize("name", ["x", "X"])
    def test_an_npz_file_with_x_and_y_is_a_pair(self, tmp_path: Path, name: str) -> None:
        x, y = np.ones((3, 2), dtype=np.float32), np.array([0, 1, 0])
        np.savez(tmp_path / "a.npz", **{"y": y, name: x})
        pair = read(tmp_path / "a.npz")
        assert isinstance(pair, tuple)
        np.testing.assert_array_equal(pair[0], x)
        np.testing.assert_array_equal(pair[1], y)
        np.testing.assert_array_equal(read(f"{tmp_path / 'a.npz'}::y"), y)

    def test_an_npz_file_with_one_array_is_that_array(self, tmp_path: Path) -> None:
        np.savez_compressed(tmp_path / "a.npz", rows=np.arange(5))
        np.testing.assert_array_equal(read(tmp_path / "a.npz"), np.arange(5))

    def test_colons_pick_one_array(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", p=np.zeros(2), q=np.ones(3))
        np.testing.assert_array_equal(read(f"{tmp_path / 'a.npz'}::q"), np.ones(3))

    def test_a_pandas_index_is_left_out(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}).iloc[[2, 0]]
        frame.to_parquet(tmp_path / "a.parquet")
        frame.to_csv(tmp_path / "a.csv")
        for name in ("a.parquet", "a.csv"):
            assert read(tmp_path / name).rows() == [(3, "z"), (1, "x")]


class TestDataFolder:
    def test_a_relative_path_is_looked_for_in_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        np.savez(tmp_path / "a.npz", p=np.zeros(2), q=np.ones(3))
        monkeypatch.delenv("RDIV_DATA", raising=False)
        np.testing.assert_array_equal(read("a.npz::q", data_dir=tmp_path), np.ones(3))
        with pytest.raises(FileNotFoundError):
            read("a.npz::q")
        monkeypatch.setenv("RDIV_DATA", str(tmp_path))
        np.testing.assert_array_equal(read("a.npz::q"), np.ones(3))
        message = refusal("aa.npz", FileNotFoundError)
        assert f"(nor in {tmp_path}); did you mean a.npz?" in message

    def test_the_path_itself_comes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "there").mkdir()
        np.save(tmp_path / "here" / "a.npy", np.zeros(1))
        np.save(tmp_path / "there" / "a.npy", np.ones(1))
        monkeypatch.chdir(tmp_path / "here")
        assert read("a.npy", data_dir=tmp_path / "there").tolist() == [0.0]


class TestCsv:
    @pytest.mark.parametrize("word", [*MISSING, " NA", '""'])
    def test_words_for_missing(self, tmp_path: Path, word: str) -> None:
        frame = read(save(tmp_path, f"a,b,c\n{word},{word},1\n2.5,x,{word}\n"))
        assert frame.rows() == [(None, word if word == " NA" else None, 1), (2.5, "x", None)]

    def test_types_follow_from_all_rows(self, tmp_path: Path) -> None:
        many = 3000
        text = "whole,late,later\n" + "1,1,1\n" * many + "2,0.5,x\n"
        assert read(save(tmp_path, text)).dtypes == [pl.Int64, pl.Float64, pl.String]
        text = "whole,late,later\n2,0.5,x\n" + "1,1,1\n" * many
        assert read(save(tmp_path, text)).dtypes == [pl.Int64, pl.Float64, pl.String]
        text = "empty at first,date\n" + ",\n" * many + "1.5,2024-01-31\n"
        assert read(save(tmp_path, text)).dtypes == [pl.Float64, pl.Date]

    @pytest.mark.parametrize(
        ("cells", "values"),
        [
            (["1", "+2", " 3", "-4 "], [1, 2, 3, -4]),
            (["1", "99999999999999999999"], [1.0, 1e20]),
            (["1e5", ".5", "inf"], [1e5, 0.5, float("inf")]),
            (["True", "FALSE", "NA"], [True, False, None]),
            (["2024-01-31", "1066-10-14"], [dt.date(2024, 1, 31), dt.date(1066, 10, 14)]),
            (["2024-01-31 08:15"], [dt.datetime(2024, 1, 31, 8, 15)]),
            (["2024-01-31T08:15:30+02:00"], [dt.datetime(2024, 1, 31, 6, 15, 30, tzinfo=dt.UTC)]),
            (["2024-01-31T08:15:30Z"], [dt.datetime(2024, 1, 31, 8, 15, 30, tzinfo=dt.UTC)]),
            (["08:15:30", "23:59:59.5"], [dt.time(8, 15, 30), dt.time(23, 59, 59, 500000)]),
            (["2024-02-30", "2024-01-31"], ["2024-02-30", "2024-01-31"]),
            (["1-1-1", "12-3-4"], ["1-1-1", "12-3-4"]),
            (["01/02/2024"], ["01/02/2024"]),
            (["1", "x"], ["1", "x"]),
            (["1_000", "0x10"], ["1_000", "0x10"]),
            ([" spaced", "text "], [" spaced", "text "]),
        ],
    )
    def test_cells(self, tmp_path: Path, cells: list[str], values: list[object]) -> None:
        frame = read(save(tmp_path, "a,b\n" + "".join(f"{cell},0\n" for cell in cells)))
        assert frame["a"].to_list() == values

    def test_a_column_without_values_has_no_type(self, tmp_path: Path) -> None:
        assert read(save(tmp_path, "a,b\nNA,1\n,2\n")).dtypes == [pl.Null, pl.Int64]

    def test_a_header_alone_is_a_table_without_rows(self, tmp_path: Path) -> None:
        for text in ("a,b\n", "a,b"):
            frame = read(save(tmp_path, text))
            assert (frame.columns, len(frame)) == (["a", "b"], 0)

    def test_byte_order_mark_and_line_ends(self, tmp_path: Path) -> None:
        expected = pl.DataFrame({"a": [1, 3], "b": ["x", "y"]})
        for text in (
            "\ufeffa,b\n1,x\n3,y\n",
            "a,b\r\n1,x\r\n3,y\r\n",
            "a,b\r1,x\r3,y\r",
            '\ufeff"a",b\n1,x\n3,y',
        ):
            assert read(save(tmp_path, text)).equals(expected)

    def test_blank_lines(self, tmp_path: Path) -> None:
        assert read(save(tmp_path, "\na,b\n\n1,2\n\n\n,\n3,4\n\n")).rows() == [
            (1, 2),
            (None, None),
            (3, 4),
        ]
        assert read(save(tmp_path, "a\n1\n\n3\n")).rows() == [(1,), (None,), (3,)]

    def test_a_long_field_is_no_fault(self, tmp_path: Path) -> None:
        limit = csv.field_size_limit()
        frame = read(save(tmp_path, f'a,b\n"{"x" * (limit + 1)}",\n'))
        assert len(frame["a"][0]) == limit + 1
        assert csv.field_size_limit() == limit

    def test_rows_with_long_fields_are_split_as_others(self, tmp_path: Path) -> None:
        """The csv module has a limit, for the whole process; beyond it rows are split by hand."""
        long = "x" * (csv.field_size_limit() + 1)
        text = f'a,b\n1,"p ""q"" r"\n\n2,"{long},\n"\n3,\n"4","s"\n{long},5'
        for line_end in ("\n", "\r\n"):
            frame = read(save(tmp_path, text.replace("\n", line_end)))
            assert frame["a"].to_list() == ["1", "2", "3", "4", long]
            assert frame["b"].to_list() == ['p "q" r', f"{long},{line_end}", None, "s", "5"]

    def test_faults_after_long_fields_have_their_lines(self, tmp_path: Path) -> None:
        long = f'a,b\n1,"{"x" * (csv.field_size_limit() + 1)}\n"\n'
        with pytest.raises(ValueError, match=r"line 4 of .* has 3 fields, but the header has 2"):
            read(save(tmp_path, f"{long}1,2,3\n"))
        with pytest.raises(ValueError, match=r"line 4 of .* has a quote that is not closed"):
            read(save(tmp_path, f'{long}1,"2\n'))

    def test_gzip_is_seen_by_content(self, tmp_path: Path) -> None:
        expected = pl.DataFrame({"a": [1], "b": [2]})
        assert read(save(tmp_path, gzip.compress(b"a,b\n1,2\n"), "a.csv")).equals(expected)
        assert read(save(tmp_path, b"a,b\n1,2\n", "a.csv.gz")).equals(expected)


class TestBrokenCsv:
    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("a,b\n1,2\n3,4,5\n", ["line 3", "3 fields", "header has 2"]),
            ("a,b\n1,2\n3\n", ["line 3", "1 field", "header has 2"]),
            ("a,b,c\n1,2,3\n4,5\n", ["line 3", "2 fields", "header has 3"]),
            ("a,b,c\n1,2,x\n4,5\n6,7,y\n", ["line 3", "2 fields"]),
            ('a,b\n"1\n1",2\n3\n', ["line 4", "1 field"]),
            ("a,b\n" + "1,2\n" * 5000 + "3\n", ["line 5002"]),
            ("a,b\n" + "1,2\n" * 5000 + "3,4,5\n", ["line 5002"]),
            ('a,b\n1,"x\n2,y\n3,z\n', ["line 2", "quote"]),
            ('a,b\n1,x\n2,"y\n', ["line 3", "quote"]),
            ('a,b\n1,x\n2,"y""', ["line 3", "quote"]),
            ('a,b\n1,"x"y\n2,z\n', ["line 2", "quote"]),
            ('a,b\n1,5" pipe\n2,z\n', ["line 2", "quote"]),
            ('"a,b\n1,2\n', ["line 1", "quote"]),
            ("a,b\n1,2,", ["line 2", "3 fields"]),
            ("a\nx\ry\n\n", ["line ends"]),
            ("a,a\n1,2\n", ["more than one column named 'a'", "rename"]),
            ('"a,1",b,"a,1"\n1,2,3\n', ["more than one column named 'a,1'"]),
            ("", ["empty"]),
            (" \n\n", ["empty"]),
            ("0.5,1.5\n1,2\n", ["numbers in its first line", "names"]),
            ("a;b\n1;2\n", ["separated by ';'", "expected ','"]),
            ("a\tb\n1\t2\n", ["separated by '\\t'"]),
        ],
    )
    def test_it_is_refused(self, tmp_path: Path, text: str, parts: list[str]) -> None:
        for name in ("table.csv", "table.csv.gz"):
            content = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
            message = refusal(save(tmp_path, content, name))
            assert all(part in message for part in parts), message

    def test_quotes_in_column_names(self, tmp_path: Path) -> None:
        frame = read(save(tmp_path, 'a,"b ""c"", d"\n1,2\n'))
        assert frame.columns == ["a", 'b "c", d']

    def test_whole_numbers_are_column_names(self, tmp_path: Path) -> None:
        assert read(save(tmp_path, "0,1\n5,6\n")).columns == ["0", "1"]

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            ("a,b\n1,x\n2,é\n".encode("latin-1"), "line 3, byte 11"),
            ("é,b\n1,x\n".encode("latin-1"), "line 1, byte 1"),
            (b"a,b\n1,2\n3\xff,4\n", "line 3, byte 10"),
            (b'a,b\n1,"x\xff"\n', "line 2, byte 9"),
            (b"a,b\n" + b"1,x\n" * 5000 + b"1,\xe9\n", "line 5002, byte 20007"),
        ],
    )
    def test_other_encodings_are_refused(self, tmp_path: Path, content: bytes, place: str) -> None:
        message = refusal(save(tmp_path, content))
        assert place in message
        assert "UTF-8" in message

    def test_utf_16_is_refused(self, tmp_path: Path) -> None:
        for encoding in ("utf-16", "utf-16-le"):
            assert "UTF-16" in refusal(save(tmp_path, "a,b\n1,2\n".encode(encoding)))

    @pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.jsonl.gz"])
    def test_truncated_gzip_is_refused(self, tmp_path: Path, name: str) -> None:
        write(tmp_path / name, FRAME)
        whole = (tmp_path / name).read_bytes()
        assert "truncated" in refusal(save(tmp_path, whole[:-9], name))
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 0xFF
        assert "damaged" in refusal(save(tmp_path, bytes(damaged), name))

    @given(
        parts=st.lists(
            st.sampled_from(["a", "1", '"', '""', ",", "\n", " ", '"q"', "\r\n"]), max_size=20
        )
    )
    def test_what_is_read_is_what_the_csv_module_reads(
        self, folder: Path, parts: list[str]
    ) -> None:
        text = "x,y\n" + "".join(parts)
        try:
            frame = read(save(folder, text))
        except ValueError:
            return
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row][1:]
        cells = [[str("" if c is None else c).strip() or None for c in row] for row in frame.rows()]
        assert cells == [[cell.strip() or None for cell in row] for row in rows]


class TestBrokenFiles:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        save(tmp_path, "a\n1\n", "customers.csv")
        message = refusal(tmp_path / "custmers.csv", FileNotFoundError)
        assert "did you mean customers.csv?" in message
        assert "check the path" in refusal(tmp_path / "zzz.parquet", FileNotFoundError)
        assert "check the path" in refusal(tmp_path / "no" / "folder.csv", FileNotFoundError)
        assert "a.npz" in refusal(f"{tmp_path / 'a.npz'}::x", FileNotFoundError)

    def test_a_directory(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").mkdir()
        assert "directory" in refusal(tmp_path / "a.csv", InputFileError)

    def test_a_file_without_permission(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = save(tmp_path, "a\n1\n")
        path.chmod(stat.S_IWUSR)
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may read anything
        assert "permissions" in refusal(path, InputFileError)

    @pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "a.parquet.gz", "a.csv.zip", "a.pkl"])
    def test_an_unknown_ending(self, tmp_path: Path, name: str) -> None:
        message = refusal(save(tmp_path, "a\n1\n", name))
        assert all(ending in message for ending in ("csv", "parquet", "feather", "jsonl", "npz"))

    @pytest.mark.parametrize(
        "name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.feather", "a.npy", "a.npz"]
    )
    def test_an_empty_file(self, tmp_path: Path, name: str) -> None:
        assert "empty" in refusal(save(tmp_path, b"", name))

    @pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.npy", "a.npz"])
    def test_a_truncated_or_foreign_file(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        if name == "a.npy":
            np.save(path, np.arange(100.0))
        elif name == "a.npz":
            np.savez(path, x=np.arange(100.0))
        else:
            write(path, FRAME)
        whole = path.read_bytes()
        for size in (3, 20, len(whole) // 2, len(whole) - 5):
            assert "truncated" in refusal(save(tmp_path, whole[:size], name))
        assert "another format" in refusal(save(tmp_path, b"a,b\n1,2\n" * 50, name))

    def test_a_damaged_array_in_an_archive(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", x=np.arange(100.0))
        content = bytearray((tmp_path / "a.npz").read_bytes())
        content[500] ^= 0xFF
        assert "damaged" in refusal(save(tmp_path, bytes(content), "a.npz"))

    def test_pickled_objects_are_never_loaded(self, tmp_path: Path) -> None:
        objects = np.array([{"a": 1}, None], dtype=object)
        np.save(tmp_path / "a.npy", objects, allow_pickle=True)
        np.savez(tmp_path / "a.npz", x=objects, y=np.zeros(2))
        for name in ("a.npy", "a.npz"):
            message = refusal(tmp_path / name)
            assert "pickled" in message
            assert "save plain arrays" in message

    def test_the_array_must_be_chosen(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", train=np.zeros(2), test=np.ones(2), extra=np.ones(1))
        path = tmp_path / "a.npz"
        assert f"(train, test, extra); choose one with {path}::train." in refusal(path)
        message = refusal(f"{path}::tests")
        assert "no array 'tests', it holds train, test, extra; did you mean test?" in message
        assert "choose one of them" in refusal(f"{path}::zzz")
        assert "choose one of them" in refusal(f"{path}::")
        np.savez(path)
        assert "no arrays" in refusal(path)

    def test_an_array_of_a_table_cannot_be_chosen(self, tmp_path: Path) -> None:
        path = save(tmp_path, "a\n1\n")
        assert "::a picks an array of an npz file" in refusal(f"{path}::a")

    def test_duplicate_columns_in_parquet(self, tmp_path: Path) -> None:
        pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
        assert "duplicate" in refusal(tmp_path / "a.parquet").lower()

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ('{"a": 1}\n{"a": 2\n', 2),
            ('{"a": 1}\n\n[1, 2]\n', 3),
            ('{"a": 1}\nhello\n', 2),
            ('{"a": 1}\n{"a": NaN}\n', 2),
            ('[{"a": 1}, {"a": 2}]', 1),
            ("{'a': 1}\n", 1),
        ],
    )
    def test_broken_json_lines(self, tmp_path: Path, text: str, line: int) -> None:
        message = refusal(save(tmp_path, text, "a.jsonl"))
        assert message.startswith(f"line {line} of")
        assert "JSON object" in message

    def test_odd_json_lines(self, tmp_path: Path) -> None:
        content = b'{"a": "x"}\n{"a": "\xe9"}\n'
        assert "line 2, byte 19" in refusal(save(tmp_path, content, "a.jsonl"))
        assert "JSON lines" in refusal(save(tmp_path, '{"a": 1}\n{"a": {"b": 1}}\n', "a.jsonl"))
        frame = read(save(tmp_path, '\ufeff{"a": 1}\n\n{"b": "x", "a": null}\n', "a.jsonl"))
        assert frame.select("a", "b").rows() == [(1, None), (None, "x")]

    def test_without_polars_the_extra_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = builtins.__import__

        def without(name: str, *rest: Any) -> Any:
            if name.partition(".")[0] == "polars":
                raise ImportError(name)
            return real(name, *rest)

        path = save(tmp_path, "a\n1\n")
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r'reading CSV files needs polars; .*"rdiv\[cli\]"'):
            read(path)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8).map(
    lambda text: f"t{text}"  # no text that reads as a number, a date or a missing value
)
COLUMNS = {
    "whole": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "truth": st.booleans(),
    "text": TEXT,
    "day": st.dates(),
    "moment": st.datetimes(),
    "last": st.integers(0, 9),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(st.integers(1, 9))
    names = draw(st.lists(TEXT, min_size=len(COLUMNS), max_size=len(COLUMNS), unique=True))
    lists = [st.lists(st.none() | values, min_size=n, max_size=n) for values in COLUMNS.values()]
    columns = [draw(values) for values in lists]
    typed = [None in values and len(set(values)) == 1 for values in columns]
    return pl.DataFrame(
        {name: c for name, c, gone in zip(names, columns, typed, strict=True) if not gone}
    )


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "jsonl", "parquet", "feather"])
@settings(max_examples=30)
@given(frame=frames())
def test_values_survive(folder: Path, ending: str, frame: pl.DataFrame) -> None:
    if frame.width:
        write(folder / f"table.{ending}", frame)
        assert read(folder / f"table.{ending}").equals(frame)
