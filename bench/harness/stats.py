"""Medians over rounds, bars and verdicts, and plain aligned tables."""
from statistics import median

# A round in which everything else on the machine used more than this, in cores, is disturbed.
CALM = 0.3


def calm_rounds(rounds, limit=CALM):
    """The rounds that other load left alone, or all of them when there is none; and whether they are calm."""
    calm = [entry for entry in rounds if entry["others_cpu"] <= limit]
    return (calm, True) if calm else (list(rounds), False)


def median_of(rounds, value):
    """The median of `value(round)` over the rounds in which it is known; None without any."""
    values = [found for found in map(value, rounds) if found is not None]
    return median(values) if values else None


def verdict(value, most=None, least=None):
    """Whether a figure keeps its bar: `met`, `missed`, or `-` when one of both is missing."""
    if value is None or (most is None and least is None):
        return "-"
    good = (most is None or value <= most) and (least is None or value >= least)
    return "met" if good else "missed"


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def signed(value, digits=0):
    return "-" if value is None else f"{value:+,.{digits}f}"


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def table(title, header, rows):
    """An aligned table: the first column and texts to the left, numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    if not rows:
        return ""
    columns = list(zip(header, *rows))
    widths = [max(map(len, column)) for column in columns]
    right = [place > 0 and all(is_number(cell) for cell in column[1:]) for place, column in enumerate(columns)]

    def line(cells):
        padded = [cell.rjust(width) if to_right else cell.ljust(width)
                  for cell, width, to_right in zip(cells, widths, right)]
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([title, "", line(header), rule, *map(line, rows), ""])


def is_number(cell):
    return cell[:1].isdigit() or cell[:1] in "+-~"
