"""The table of rules is one that can be read and acted on."""

from swin_mm.checking.rules import RULES, SKIPPABLE, Level


def test_every_rule_has_a_sentence_and_a_cure_of_its_own():
    assert all(name == rule.name for name, rule in RULES.items())
    texts = [rule.text for rule in RULES.values()]
    assert len(set(texts)) == len(texts)
    assert all(rule.text[0] == "M" or rule.text[0].islower() for rule in RULES.values())
    assert not any(rule.text.endswith(".") or rule.cure.endswith(".") for rule in RULES.values())
    assert all(rule.cure for rule in RULES.values())


def test_only_errors_are_skipped_in_training():
    assert RULES.keys() >= SKIPPABLE
    assert {RULES[name].level for name in SKIPPABLE} == {Level.ERROR}
