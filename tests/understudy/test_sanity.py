from pathlib import Path

from understudy.sanity import sanity_lines
from understudy.simulation import domain_document, write_table


def test_every_declared_column_is_described_and_the_target_related_to_the_numbers(tmp_path: Path) -> None:
    rows, _ = write_table(tmp_path, rows=3_000)
    lines = sanity_lines(rows, domain_document(3_000))
    text = "\n".join(lines)
    for column in domain_document(3_000)["columns"]:
        assert f"  {column['name']} " in text
    assert "3000 synthetic rows" in lines[0]
    prior = next(line for line in lines[::-1] if line.startswith("  prior "))
    shares = [int(word.rstrip("%")) for word in prior.split()[1:]]
    assert len(shares) == 10
    assert shares[0] > shares[-1] + 20, "readmissions rise with prior admissions, by construction"


def test_an_empty_file_is_no_crash(tmp_path: Path) -> None:
    file = tmp_path / "synthetic.csv"
    file.write_text("age,sex\n")
    assert "0 synthetic rows" in sanity_lines(file, domain_document(10))[0]


def test_dates_of_a_format_are_compared_as_dates(tmp_path: Path) -> None:
    file = tmp_path / "synthetic.csv"
    file.write_text("seen\n31/01/2020\n01/12/2020\n\n02/02/2019\n")
    domain = {"columns": [{"name": "seen", "kind": "date", "format": "%d/%m/%Y"}]}
    assert "02/02/2019 to 01/12/2020" in sanity_lines(file, domain)[1]
