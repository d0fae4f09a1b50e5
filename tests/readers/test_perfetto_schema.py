"""Perfetto's own schema parses what convert writes, whole: no unknown field, every name and track known."""
import unittest

import files

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
except ImportError:
    files.skip("the package perfetto is not installed")


class PerfettoSchema(unittest.TestCase):
    def test_recordings_parse(self):
        for name in ("h200/ddp_rank0", "h200/solid4_stack", "h200/graph", "golden/enc"):
            with self.subTest(name):
                data = files.converted(name, ".pftrace")
                trace = perfetto_trace_pb2.Trace()
                trace.ParseFromString(data)
                copy = perfetto_trace_pb2.Trace.FromString(data)
                copy.DiscardUnknownFields()
                self.assertEqual(copy.ByteSize(), trace.ByteSize())
                names, tracks, depth = set(), set(), {}
                for packet in trace.packet:
                    names.update(entry.iid for entry in packet.interned_data.event_names)
                    if packet.HasField("track_descriptor"):
                        tracks.add(packet.track_descriptor.uuid)
                    if packet.HasField("track_event"):
                        event = packet.track_event
                        self.assertIn(event.track_uuid, tracks)
                        change = {event.TYPE_SLICE_BEGIN: 1, event.TYPE_SLICE_END: -1}.get(event.type, 0)
                        depth[event.track_uuid] = depth.get(event.track_uuid, 0) + change
                        self.assertGreaterEqual(depth[event.track_uuid], 0)
                        if change == 1:
                            self.assertIn(event.name_iid, names)
                self.assertGreater(len(trace.packet), 1000)
                self.assertEqual(set(depth.values()), {0})


if __name__ == "__main__":
    unittest.main()
