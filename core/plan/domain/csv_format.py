"""How the owner's CSV file is written: declared, never guessed from the rows."""

from dataclasses import dataclass
from typing import Self

from core.plan.domain.reading import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    """The declared dialect.

    Attributes:
        delimiter: One ASCII character between fields.
        quote: The quotation mark, or None if no field is ever quoted.
        header: Whether the first line names the columns; without it fields follow the order of the domain.
        null_values: Texts that mean "missing", compared after stripping.
        strip_spaces: Whether blanks around a field are dropped.
    """

    delimiter: str = ","
    quote: str | None = '"'
    header: bool = True
    null_values: tuple[str, ...] = ("",)
    strip_spaces: bool = False

    @classmethod
    def from_node(cls, node: Node) -> Self:
        """Read the "csv" object of a domain document.

        Raises:
            DomainInvalid: a key is unknown or has a wrong value.
        """
        default = cls()
        delimiter = node.take_text("delimiter", default.delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0 ':
            node.refuse("'delimiter' must be one ASCII character.", "bad-delimiter", key="delimiter")
        quote = node.take("quote", default.quote)
        if quote not in ('"', "'", None):
            node.refuse("'quote' must be '\"', \"'\" or null.", "bad-quote", key="quote")
        found = cls(
            delimiter=delimiter,
            quote=quote if isinstance(quote, str) else None,
            header=node.take_flag("header", default=default.header),
            null_values=node.take_texts("null_values", list(default.null_values)),
            strip_spaces=node.take_flag("strip_spaces", default=default.strip_spaces),
        )
        node.finish()
        return found

    def to_json(self) -> dict[str, object]:
        """The complete object, defaults written out."""
        return {
            "delimiter": self.delimiter,
            "quote": self.quote,
            "header": self.header,
            "null_values": list(self.null_values),
            "strip_spaces": self.strip_spaces,
        }
