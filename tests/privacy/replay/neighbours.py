"""The privacy units by which neighbouring tables differ, over the small domain of `tests.privacy.whole_job`."""

UNITS = {
    "ordinary": ["new,B,40,5.0,yes"],
    "extreme": ["new,C,99,10.0,yes"],
    "beyond every bound": ["new,A,99999999,1e308,no"],
    "not a number": ["new,A,20,NaN,no"],
    "infinite": ["new,A,20,-inf,no"],
    "missing": ["new,A,20,,no"],
    "unreadable": ["new,A,20,much,no"],
    "a new category": ["new,Z\u00fcrich,33,2.5,yes"],
    "duplicate of another": ["new,A,30,5.00,no"],
    "refused": ["new,A,20,1.0,perhaps"],
    "a person with many records": [f"new,{'ABC'[n % 3]},{n % 100},{n % 10},yes" for n in range(120)],
    "a person with records of every kind": [
        "new,C,99,10.0,yes", "new,A,20,NaN,no", "new,A,20,-inf,no", "new,A,99999999,1e308,no", "new,\u00c5rhus,1,,yes",
        "new,A,20,1.0,perhaps", "new,C,99,10.0,yes",
    ],
}  # fmt: skip
"""Name of the kind: the records of the one unit, as lines of the file."""


def is_person(unit: str) -> bool:
    """Whether the unit has several records, so that the dataset must declare a unit column."""
    return len(UNITS[unit]) > 1
