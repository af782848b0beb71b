"""The report about a fault after its tests have run."""


def verdict(mutant, answers):
    """Returns the verdict and its text. `answers` holds (test, its report) for each test, up to the one that has
    decided."""
    test, said = answers[-1]
    if said is None:
        return "MISSED", f"{mutant.breaks}; {test} does not say so"
    return "caught", "; ".join(f"{test}: {said}" for test, said in answers if said)
