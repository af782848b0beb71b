"""The report about a fault after its tests have run."""


def verdict(mutant, answers):
    """Returns the verdict by the reports of the tests, up to the one that has decided."""
    test, said = answers[-1]
    if said is None:
        return "MISSED", f"{mutant.breaks}; {test} does not say so"
    return "caught", "; ".join(f"{test}: {said}" for test, said in answers if said)
