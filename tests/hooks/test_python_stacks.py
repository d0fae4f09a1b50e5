"""Stacks of a real interpreter, compared with what Python itself says of the same moment."""
import gc
import os
import subprocess
import sys
import threading
import time
import traceback
import unittest

from probe import held, free, stack_lines

QUALIFIED = sys.version_info >= (3, 11)


def expected_here(skip=0):
    """The caller's stack as Python tells it, innermost first."""
    frame = sys._getframe(1 + skip)
    lines = []
    while frame is not None and len(lines) < 128:
        code = frame.f_code
        name = code.co_qualname if QUALIFIED else code.co_name
        lines.append(f"{code.co_filename}:{frame.f_lineno} {name}")
        frame = frame.f_back
    return lines


class Stacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        proven = held.probe_attach_python()
        assert proven == sys.version_info[1], held.probe_remarks().decode()
        held.probe_listen(1)

    def check(self):
        number, expected = held.probe_stack(), expected_here()
        self.assertEqual(stack_lines(number), expected)

    def test_functions_methods_and_other_alphabets(self):
        class Größe:
            def 名前(self, check):
                return (
                    check(
                    )
                )
        Größe().名前(self.check)
        (lambda: self.check())()
        [self.check() for _ in range(2)]

    def test_without_the_gil(self):
        number, expected = free.probe_stack(), expected_here()
        self.assertEqual(stack_lines(number), expected)

    def test_generators_and_coroutines(self):
        def generator():
            self.check()
            yield 1
            yield from generator_inside()

        def generator_inside():
            self.check()
            yield 2

        async def coroutine():
            self.check()

        self.assertEqual(list(generator()), [1, 2])
        with self.assertRaises(StopIteration):
            coroutine().send(None)

    def test_callbacks_from_c(self):
        sorted([2, 1], key=lambda x: self.check() or x)

        class Closed:
            def __del__(inner):
                self.check()
        del Closed
        gc.collect()

    def test_many_lines(self):
        # More lines than a byte can count between two instructions, and jumps backwards.
        source = "def f(check):\n" + "\n" * 700 + "  a = [\n" + "\n" * 300 + "    check()\n  ,\n\n check()]\n  check()\n"
        space = {}
        exec(compile(source, "<long>", "exec"), space)
        space["f"](self.check)

    def test_exceptions_on_their_way(self):
        try:
            raise ValueError("on its way")
        except ValueError:
            self.check()

    def test_recursion_keeps_the_inner_end(self):
        def down(depth):
            return held.probe_stack() if depth == 0 else down(depth - 1)
        sys.setrecursionlimit(3000)
        lines = stack_lines(down(1000))
        self.assertEqual(len(lines), 128)
        self.assertTrue(all(line.endswith("down") for line in lines))

    def test_code_that_is_freed_and_made_anew(self):
        for i in range(2000):
            file, line = f"<generated {i % 3}>", i % 7 + 2
            space = {"stack": held.probe_stack}
            exec(compile("\n" * (i % 7) + f"def f_{i % 11}():\n  return stack()\nr = f_{i % 11}()", file, "exec"), space)
            self.assertEqual(stack_lines(space["r"])[0], f"{file}:{line} f_{i % 11}")

    def test_same_stack_same_number(self):
        numbers = {held.probe_stack() for _ in range(1000)}
        self.assertEqual(len(numbers), 1)
        self.assertNotIn(0, numbers)

    def test_threads(self):
        wrong = []

        def work(i):
            for _ in range(200):
                number, expected = held.probe_stack(), expected_here()
                if stack_lines(number) != expected:
                    wrong.append((i, number))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_another_thread_that_waits(self):
        ready, end, ids = threading.Event(), threading.Event(), []

        def wait():
            held.probe_stack()
            ids.append(threading.get_native_id())
            ready.set()
            end.wait()
        thread = threading.Thread(target=wait)
        thread.start()
        ready.wait()
        time.sleep(0.05)
        lines = stack_lines(held.probe_stack_of(ids[0]))
        end.set()
        thread.join()
        self.assertTrue(any(line.endswith("wait") for line in lines), lines)
        self.assertEqual(held.probe_stack_of(ids[0]), 0)
        self.assertEqual(held.probe_stack_of(1), 0)

    def test_another_thread_that_runs(self):
        go, ids = [True], []

        def spin(depth):
            if depth:
                return spin(depth - 1)
            held.probe_stack()
            ids.append(threading.get_native_id())
            while go:
                sorted(range(20), key=lambda x: -x)
        thread = threading.Thread(target=spin, args=(5,))
        thread.start()
        seen = []
        for _ in range(2000):
            number = free.probe_stack_of(ids[0]) if ids else 0
            if number:
                seen.append(number)
        go.clear()
        thread.join()
        for number in set(seen):
            lines = stack_lines(number)
            self.assertTrue(lines[-1].split()[-1].endswith("_bootstrap"), lines)

    def test_forked_child(self):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if stack_lines(held.probe_stack()) == expected_here() else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_cost_is_told(self):
        def down(depth):
            return held.probe_stack_cost(20000) if depth == 0 else down(depth - 1)
        ready, end, ids = threading.Event(), threading.Event(), []

        def wait(depth):
            if depth:
                return wait(depth - 1)
            held.probe_stack()
            ids.append(threading.get_native_id())
            ready.set()
            end.wait()
        thread = threading.Thread(target=wait, args=(35,))
        thread.start()
        ready.wait()
        time.sleep(0.05)
        look = held.probe_look_cost(ids[0], 2000)
        end.set()
        thread.join()
        print(f"3.{sys.version_info[1]}: {look / 1000:.1f} us a look at another thread of 41 frames")
        print(f"3.{sys.version_info[1]}: {down(15):.0f} ns a stack of {len(expected_here()) + 16} frames")


class Ends(unittest.TestCase):
    """Programs that end in unusual ways while a thread keeps asking."""

    def run_program(self, body):
        program = "import sys; sys.path.insert(0, %r)\nfrom probe import *\n%s" % (os.path.dirname(__file__), body)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_daemon_threads_at_exit(self):
        for _ in range(5):
            self.run_program(
                "import threading\nheld.probe_attach_python(); held.probe_listen(1)\n"
                "def work():\n  while True: free.probe_stack_cost(1000)\n"
                "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
                "import time; time.sleep(0.05)\n")

    def test_told_to_leave(self):
        out = self.run_program("held.probe_attach_python(); held.probe_listen(1)\nprint(held.probe_stack() != 0)\n"
                               "held.probe_leave_python(); print(held.probe_stack())\n")
        self.assertEqual(out.split(), ["True", "0"])

    def test_attached_without_the_gil(self):
        # Nothing can be proven then; the first hook that has the GIL does it.
        out = self.run_program("print(free.probe_attach_python()); held.probe_listen(1)\n"
                               "print(free.probe_stack()); print(held.probe_stack() != 0)\n"
                               "print(free.probe_stack() != 0)\n")
        self.assertEqual(out.split(), ["0", "0", "True", "True"])


unittest.main(verbosity=1)
