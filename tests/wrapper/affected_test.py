"""tools/affected, on the build that is being tested. Usage: affected_test.py path/to/tools/affected build.ninja"""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, BUILD = sys.argv[1], os.path.dirname(sys.argv[2])


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def affected(*files):
    return set(output_of(PROGRAM, "--names", BUILD, *files).splitlines())


class Affected(unittest.TestCase):
    def test_a_tests_source_affects_its_program(self):
        names = affected("tests/base/sample_test.cc")
        self.assertIn("Sample.EveryCaseIsInExactlyOneOfThem", names)
        self.assertIn("Sample.RefusesWhatIsNoShare", names)
        self.assertNotIn("MemberSwarm.HealsToOneViewOfAllThatLive", names)
        self.assertNotIn("swarm.program", names)
        self.assertIn("tidy.tree", names, "it is given the whole tree")

    def test_a_header_affects_all_that_include_it(self):
        names = affected("tests/support/sample.h")
        for name in ("Sample.RefusesWhatIsNoShare", "MemberSwarm.HealsToOneViewOfAllThatLive"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.startswith(("Mailbox", "Ledger"))])

    def test_a_layer_affects_programs_that_link_it_and_scripts_that_start_them(self):
        names = affected("src/swarm/sync_workload.cc")
        self.assertIn("swarm.program", names)
        self.assertNotIn("Sample.RefusesWhatIsNoShare", names)
        everything = affected("src/base/error.h")
        self.assertIn("Sample.RefusesWhatIsNoShare", everything)
        self.assertIn("swarm.program", everything)

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib/shoal/shoal_torch.so")), "built without libtorch")
    def test_a_plugin_affects_what_loads_it(self):
        names = affected("src/learner/torch/compute.cc")
        self.assertIn("train.killed", names)
        self.assertNotIn("Sample.RefusesWhatIsNoShare", names)

    def test_a_script_affects_its_test_and_those_that_name_it(self):
        self.assertIn("wrapper", affected("tests/wrapper/wrapper_test.sh"))
        self.assertNotIn("swarm.program", affected("tests/wrapper/wrapper_test.sh"))
        self.assertIn("two_hosts", affected("tools/two-hosts"))
        self.assertIn("mutants.can_be_planted", affected("tools/mutants"))

    def test_a_page_affects_checks_of_the_tree_alone(self):
        names = affected("docs/systems.md")
        self.assertIn("tidy.tree", names)
        self.assertNotIn("Sample.RefusesWhatIsNoShare", names)

    def test_a_build_file_affects_its_folder(self):
        names = affected("tests/base/CMakeLists.txt")
        self.assertIn("Sample.RefusesWhatIsNoShare", names)
        self.assertNotIn("swarm.program", names)
        self.assertIn("swarm.program", affected("cmake/ShoalFlags.cmake"))

    def test_nothing_affects_nothing(self):
        self.assertEqual(affected(), set())
        self.assertEqual(output_of(PROGRAM, BUILD), "")

    def test_ctest_runs_the_tests_of_the_list(self):
        names = affected("tests/base/sample_test.cc")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(output_of(PROGRAM, BUILD, "tests/base/sample_test.cc"))
            file.flush()
            listed = output_of("ctest", "--test-dir", BUILD, "-N", "--tests-information", file.name)
        self.assertEqual({line.split(": ", 1)[1] for line in listed.splitlines() if line.startswith("  Test ")}, names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
