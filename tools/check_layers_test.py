#!/usr/bin/env python3
"""The layer check finds what it is for: each kind of forbidden include, on a small tree made for it."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_layers

CMAKE = """
stepscope_room(base DEPENDS PUBLIC result.h LIBRARIES Threads::Threads)
stepscope_room(trace DEPENDS base PUBLIC look.h)
stepscope_room(rules DEPENDS base trace)
"""


class CheckLayers(unittest.TestCase):
    def problems(self, files, architecture=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "CMakeLists.txt").write_text(CMAKE)
            (root / "ARCHITECTURE.md").write_text(architecture)
            for name, text in files.items():
                path = root / name if name.startswith("include/") else root / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.check(root)

    def test_allowed_includes_pass(self):
        self.assertEqual(self.problems({"base/id.h": "", "trace/a.h": '#include "base/id.h"\n#include <vector>\n'}), [])

    def test_upward_include_fails(self):
        self.assertIn("may not use trace", self.problems({"base/id.h": '#include "trace/a.h"\n'})[0])

    def test_rooms_that_include_each_other_fail(self):
        files = {"base/id.h": '#include "trace/a.h"\n', "trace/a.h": '#include "base/id.h"\n'}
        self.assertTrue(any("include each other" in p for p in self.problems(files)))

    def test_members_of_a_list_never_include_each_other(self):
        files = {"rules/one.cpp": '#include "rules/two.h"\n', "rules/two.h": "", "rules/rules.cpp": '#include "rules/one.h"\n'}
        self.assertEqual(len(self.problems(files)), 1)
        self.assertEqual(self.problems(files, "shared by rules: two"), [])

    def test_public_headers_belong_to_their_room(self):
        look = "include/stepscope/look.h"
        self.assertEqual(self.problems({look: '#include "stepscope/result.h"\n', "rules/a.h": '#include "stepscope/look.h"\n'}), [])
        self.assertIn("no PUBLIC names it", self.problems({"include/stepscope/other.h": ""})[0])
        self.assertIn("no room's PUBLIC", self.problems({"base/a.h": '#include "stepscope/other.h"\n'})[0])
        self.assertIn("where it is installed", self.problems({look: '#include "base/id.h"\n'})[0])
        self.assertIn("may not use trace", self.problems({"base/a.h": '#include "stepscope/look.h"\n'})[0])
        self.assertIn("may not use trace", self.problems({"include/stepscope/result.h": '#include "stepscope/look.h"\n'})[0])

    def test_one_name_is_one_type(self):
        one = "namespace s {\nstruct Point {\n  int x;\n};\n}\n"
        same = self.problems({"base/a.h": one, "trace/b.cpp": "namespace s {\n// a comment {\nclass Point final : public P {};\n}\n"})
        self.assertEqual(len(same), 1, same)
        self.assertIn("src/base/a.h: s::Point is also defined in src/trace/b.cpp", same[0])
        for other in (
            "namespace s {\nnamespace {\nstruct Point {};\n}\n}\n",
            "namespace s::t {\nstruct Point {};\n}\n",
            "namespace s {\nstruct Outer {\n  struct Point {};\n};\n}\n",
            "namespace s {\nstruct Point;\nvoid f(struct Point { });\n}\n",
            "namespace s {\nvoid f() {\n  struct Point {};\n}\n}\n",
            'namespace s {\nconst char* text = "struct Point {";\nauto more = R"x(\nstruct Point {})x";\n}\n',
            "namespace s {\ntemplate <>\nstruct Point<int> {};\n#define P struct Point { \\\n  int x; }\n}\n",
        ):
            self.assertEqual(self.problems({"base/a.h": one, "trace/b.cpp": other}), [], other)

    def test_templates_enums_and_digits(self):
        text = ("namespace s {\ntemplate <class T, class U = int>\nclass Box : Base<T> {\n  char c = '{';\n  int n = 1'000;\n};\n"
                "enum class Kind : unsigned { kOne };\n}\nnamespace s { struct [[nodiscard]] Last {}; }\n")
        self.assertEqual(list(check_layers.types_defined(text)), ["s::Box", "s::Kind", "s::Last"])

    def test_unknown_room_and_cuda_header_fail(self):
        self.assertIn("not in CMakeLists", self.problems({"extra/a.h": ""})[0])
        self.assertIn("CUDA headers", self.problems({"base/a.h": "#include <cupti.h>\n"})[0])


if __name__ == "__main__":
    unittest.main(verbosity=0)
