"""Where an answer goes, as a person types it: which files, in which form, and whether they may be replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from unlisted.errors import InvalidArgumentError

OUTPUT_PANEL = "Answer"

Format = Literal["table", "json", "csv", "parquet"]

_BY_SUFFIX: Mapping[str, Format] = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".txt": "table"}
"""How a file is written whose name ends so."""


@dataclass(frozen=True)
class OutputOptions:
    """Where the answer goes."""

    format: Annotated[
        Format | None,
        typer.Option(
            help="How the answer is written: by the ending of --output unless said, else as a table.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write the answer to this file: FILE.csv, .json, .parquet or .txt.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = None
    chart: Annotated[
        Path | None,
        typer.Option(help="Also draw a chart: FILE.svg, .png or .html.", rich_help_panel=OUTPUT_PANEL),
    ] = None
    receipt: Annotated[
        Path | None,
        typer.Option(
            help="Also write the receipt: the guarantee and the plan, as JSON.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = None
    statement: Annotated[
        Path | None,
        typer.Option(
            help="Also write what it means, in half a page of plain English.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there.", rich_help_panel=OUTPUT_PANEL)
    ] = False

    @property
    def form(self) -> Format:
        """How the answer is written: as was said, or as the ending of its file says."""
        if self.format is not None or self.output is None:
            return self.format or "table"
        return _BY_SUFFIX.get(self.output.suffix.lower(), "table")

    @property
    def files(self) -> dict[str, Path]:
        """The files to be written, by the option that names them."""
        named = {
            "--output": self.output,
            "--chart": self.chart,
            "--receipt": self.receipt,
            "--statement": self.statement,
        }
        return {name: path for name, path in named.items() if path is not None}

    def check_form(self, *, is_file: bool) -> None:
        """Refuse an ending that says nothing, or something else than --format; a pipe needs none."""
        if self.output is None:
            return
        by_suffix = _BY_SUFFIX.get(self.output.suffix.lower())
        if self.format is not None and by_suffix not in (None, self.format):
            hint = f"{self.output.name} would hold something other than its name says. Leave --format out."
            raise InvalidArgumentError("--format", self.format, f"{by_suffix} with --output {self.output}", hint)
        if self.format is None and by_suffix is None and is_file:
            hint = "Or give --format, and the file may have any name."
            raise InvalidArgumentError("--output", str(self.output), f"a name that ends in {_ENDINGS}", hint)


_ENDINGS = ", ".join(list(_BY_SUFFIX)[:-1]) + f" or {list(_BY_SUFFIX)[-1]}"
