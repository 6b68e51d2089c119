#!/usr/bin/env python3
"""Proves that options describe themselves and keep to it, and that soma_has knows what there is."""
import ctypes
import json
import unittest

from library import API, SOMA_NUL, Failure, Soma

KINDS = ("runtime", "model", "session", "generate", "plan", "compile", "run")
soma = Soma()


def described(kind):
    handle = soma.options(kind)
    count = soma.library.soma_options_count(handle)
    return handle, [json.loads(soma.blob(soma.call("options_describe", handle, i)))
                    for i in range(count)]


class Options(unittest.TestCase):
    def test_every_option_describes_itself(self):
        for kind in KINDS:
            _, keys = described(kind)
            self.assertGreater(len(keys), 0)
            for key in keys:
                self.assertIn(key["type"], ("int", "bool", "double", "text"))
                self.assertEqual(key["value"], key["default"])
                self.assertTrue(key["text"].endswith("."), key)
                self.assertTrue(soma.library.soma_has(*soma.text(f"option.{kind}.{key['name']}")))

    def test_ranges_are_what_they_say(self):
        for kind in KINDS:
            handle, keys = described(kind)
            for key in keys:
                name = soma.text(key["name"])
                for end in [key[e] for e in ("minimum", "maximum") if e in key]:
                    setter = {"int": "options_set_int", "double": "options_set_double"}[key["type"]]
                    soma.call(setter, handle, *name, end)
                for choice in key.get("choices", []):
                    soma.call("options_set_text", handle, *name, *soma.text(choice))
                    blob = soma.call("options_get_text", handle, *name)
                    self.assertEqual(soma.blob(blob).decode(), choice)

    def refused(self, reason, name, *arguments):
        with self.assertRaises(Failure) as caught:
            soma.call(name, *arguments)
        self.assertEqual(caught.exception.reason, reason)
        return str(caught.exception)

    def test_what_is_wrong_is_refused_by_name(self):
        session = soma.options("session")
        context, policy = soma.text("context"), soma.text("policy")
        told = self.refused("option.unknown", "options_set_int", session, *soma.text("contex"), 1)
        self.assertIn("context, sequences", told)
        self.refused("option.unknown", "options_create", *soma.text("sessions"))
        self.refused("option.type", "options_set_double", session, *context, 1.0)
        self.refused("option.type", "options_set_int", session, *policy, 1)
        self.refused("option.type", "options_parse", session, *context, *soma.text("many"))
        self.refused("option.type", "options_parse", session, *context, *soma.text("1.5"))
        self.refused("option.range", "options_parse", session, *context, *soma.text("9" * 30))
        told = self.refused("option.range", "options_set_int", session, *context, -1)
        self.assertIn("0 to", told)
        self.assertIn("fast|reference", self.refused("option.range", "options_set_text", session,
                                                     *policy, *soma.text("slow")))
        generate = soma.options("generate")
        self.refused("option.range", "options_set_double", generate, *soma.text("temperature"),
                     float("nan"))
        self.refused("argument.handle", "runtime_create", 0x10000, generate)

    def test_values_are_parsed_by_type(self):
        generate = soma.options("generate", temperature="0.25", ignore_end="true", seed="-3")

        def value(getter, box, key):
            self.assertEqual(getter(generate, *soma.text(key), ctypes.addressof(box), None), 0)
            return box.value

        real, whole = soma.library.soma_options_get_double, soma.library.soma_options_get_int
        self.assertEqual(value(real, ctypes.c_double(), "temperature"), 0.25)
        self.assertEqual(value(whole, ctypes.c_int64(), "ignore_end"), 1)
        self.assertEqual(value(whole, ctypes.c_int64(), "seed"), -3)

    def test_has_knows_functions_and_more(self):
        has = soma.library.soma_has
        for function in API["functions"]:
            self.assertTrue(has(*soma.text(function["name"])), function["name"])
        for name in ("kernels.scalar", "kernels.avx2", "format.q4_1", "format.f32"):
            self.assertTrue(has(*soma.text(name)), name)
        for name in ("soma_nothing", "kernels.", "format.q9", "option.session", "", "option.x.y"):
            self.assertFalse(has(*soma.text(name)), name)

    def test_the_build_describes_itself(self):
        info = json.loads(soma.blob(soma.call("build_info")))
        self.assertEqual(info["abi"], API["abi"])
        version = ctypes.string_at(
            ctypes.cast(soma.library.soma_version_string(), ctypes.c_void_p).value).decode()
        self.assertEqual(info["version"], version)
        self.assertTrue(any(s["available"] for s in info["kernel_sets"] if s["name"] == "scalar"))
        self.assertGreaterEqual(info["libraries"].keys(), {"pcre2", "fmt", "sqlite"})


if __name__ == "__main__":
    unittest.main()
