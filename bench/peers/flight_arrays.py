"""pyarrow: whole columns of a table over Arrow Flight."""

import json
from urllib.parse import urlsplit

import clock
import pyarrow.flight as flight

args = clock.arguments()
address = urlsplit(args.url)


def job():
    client = flight.connect(f"grpc://{address.netloc}")
    request = {"files": [address.path], "table": args.tree, "columns": args.columns}
    descriptor = flight.FlightDescriptor.for_command(json.dumps(request))
    info = client.get_flight_info(descriptor)
    clock.opened()
    return client.do_get(info.endpoints[0].ticket).read_all()


def answer(table):
    import awkward as ak

    arrays = {name: ak.from_arrow(table[name]) for name in table.column_names}
    return {
        "entries": len(table),
        "payload_bytes": sum(map(clock.payload_bytes, arrays.values())),
    }


clock.run(job, answer)
