"""The type `citext` for a server whose build brings no extensions: the same type, casts and `=`, in SQL.

The server looks for the extension in a folder that it is told of, and installs it like any other.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

_CONTROL = "default_version = '1.0'\nrelocatable = true\n"
_SQL = """
CREATE TYPE citext;
CREATE FUNCTION citextin(cstring) RETURNS citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION citextout(citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE citext (
    INPUT = citextin, OUTPUT = citextout, INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'S',
    COLLATABLE = true
);
CREATE CAST (citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS citext) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION citext_eq(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT lower($1::text COLLATE "default") = lower($2::text COLLATE "default")
$$;
CREATE OPERATOR = (LEFTARG = citext, RIGHTARG = citext, PROCEDURE = citext_eq, COMMUTATOR = =);
"""


@contextmanager
def with_citext(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Install the extension into the connection's schema for a while."""
    # Not pytest's folder for temporary files: the server's user may not look into that one.
    home = Path(tempfile.mkdtemp(prefix="unlisted-citext-"))
    home.chmod(0o755)
    (home / "extension").mkdir(mode=0o755)
    (home / "extension" / "citext.control").write_text(_CONTROL)
    (home / "extension" / "citext--1.0.sql").write_text(_SQL)
    for file in (home / "extension").iterdir():
        file.chmod(0o644)
    try:
        connection.execute(f"SET extension_control_path = '{home}:$system'".encode())
        connection.execute("CREATE EXTENSION citext")
        yield
        connection.execute("DROP EXTENSION citext CASCADE")
    finally:
        shutil.rmtree(home, ignore_errors=True)
