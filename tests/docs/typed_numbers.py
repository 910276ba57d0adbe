"""Numbers that somebody typed into prose, where the code that is run should have put them.

A number of two or more digits, or with a decimal point or an exponent, may stand in prose

- between `<!--= expression -->` and `<!--/-->`, where docs/run_pages.py compares it with what the expression is;
- in a table that a script writes, between comments such as `<!-- figure: ... -->` and `<!-- end of figure -->`;
- if a command or a program on the same page holds it: an input that the reader types. What a program *printed* is
  no input, and goes into an expression;
- if it is a name, or a constant of the field, as `NAMES` has them.

Shares and multiples in words ("once in four", "two or three times as many") are numbers too.
"""

from __future__ import annotations

import re

from tests.docs.scripts import BLOCK

MARKER = re.compile(r"<!--=.*?-->[^\n]*?<!--/-->", re.DOTALL)
WRITTEN_BY_A_SCRIPT = re.compile(r"<!-- (\w+)(?:: [^>]*?)? -->\n.*?<!-- end of \1 -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\([^)]*\)")
ANCHOR = re.compile(r"\{ #[^}]*\}")
CODE = re.compile(r"`([^`\n]*)`")

NUMBER = re.compile(r"(?<![\w.,])\d(?:[\d,]*\d)?(?:\.\d+)?(?:e-?\d+)?(?![\w])")
WORDS = re.compile(
    r"\b(?:every other time"
    r"|(?:once|twice) in (?:two|three|four|five|ten|twenty|a (?:hundred|thousand|million|billion))\b"
    r"|(?:two or three|three or four|two|three|four|five|ten|a hundred) times (?:as|more|less|the)"
    r"|about (?:a|one) (?:half|third|quarter|fifth|tenth)"
    r"|a (?:third|quarter|fifth|tenth) (?:of|more|less|higher|lower|longer|fewer))",
    re.IGNORECASE,
)

INPUTS = ("python", "console", "toml", "sh", "http", "json")
NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\| \d+ \||^\d+\. ",  # steps
        r"\d{4}-\d\d(?:-\d\d)?",  # dates
        r"\(?\b(?:19|20)\d\d\)?\b",  # years
        r"\d+ [A-Z][a-z]+ \d{4}",  # dates in words
        r"(?:OpenDP|Tumult Analytics|PipelineDP|Python|Spark|unlisted|version|Until|Apache)[ -]\d+(?:\.\d+)+",
        r"CC BY 4\.0",
        r"(?:UTF|SHA)-\d+|U\+\w+",  # standards
        r"\d+-bit",  # the width of a key or a hash
        r"^\| [45]\d\d(?:, [45]\d\d)*(?=[ ,])|\([45]\d\d\)",  # HTTP status
        r"(?:50|95|99) %|50, 95 and 99 %",  # the chances and the confidence that every plan states
        r"ε = 0\.1\b|δ′? = 1e-\d+|\(1, 1e-08\)-DP",  # a budget that is taken as an example
    )
)


def typed_numbers(page: str) -> list[str]:
    """Return the numbers of a page that nothing keeps true, each with the line it stands in."""
    inputs = {
        _plain(number)
        for block in BLOCK.finditer(page)
        if block["kind"] in INPUTS
        for number in NUMBER.findall(_typed(block["kind"], block["body"]))
    }
    found = []
    for line in prose(page).splitlines():
        rest = line
        for name in NAMES:
            rest = name.sub(" ", rest)
        found += [f"{number}: {line.strip()}" for number in NUMBER.findall(rest) if _counts(number, inputs)]
        found += [f"{words}: {line.strip()}" for words in WORDS.findall(line)]
    return found


def prose(page: str) -> str:
    """Return what a reader reads and nobody runs."""
    for kept in (MARKER, WRITTEN_BY_A_SCRIPT, FENCE, COMMENT):
        page = kept.sub(" ", page)
    # Code with a word in it is what a reader types; code that is only a number is a number.
    page = CODE.sub(lambda code: " " if re.search(r"[A-Za-z_]", code[1]) else code[0], page)
    return ANCHOR.sub("", LINK.sub("]", page))


def _typed(kind: str, body: str) -> str:
    """Return the part of a block that the reader types: of a console block the commands alone."""
    if kind != "console":
        return body
    return "".join(re.findall(r"^\$ (?:.*\\\n)*.*\n", body, re.MULTILINE))


def _plain(number: str) -> str:
    return number.replace(",", "")


def _counts(number: str, inputs: set[str]) -> bool:
    plain = _plain(number)
    return len(plain) > 1 and plain not in inputs
