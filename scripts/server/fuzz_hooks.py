"""How schemathesis sends lines of JSON, which it does not know: as the text that it made up."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return str(value).encode(errors="replace")
