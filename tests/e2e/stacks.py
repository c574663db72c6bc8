# SPDX-License-Identifier: BSD-2-Clause
"""stacks.py - what tests ask of the user stacks in a profile: whether they are complete, and which calls they have."""

import collections
import re

from harness import expect, function_name


def user_stacks(profile):
    """How user stacks ended: {"complete": n, REASON: n, ...}."""
    return profile.log()["user_stacks"]


def completeness(profile):
    """The share of complete stacks among all that have a user part."""
    stacks = user_stacks(profile)
    total = sum(stacks.values()) - stacks["none, the thread exits or execs"]
    expect(total, "there are no user stacks")
    return stacks["complete"] / total


def user_chains(profile, having=None, **which):
    """[(samples, (function, ...) from root to leaf), ...] of those threads, without the kernel's functions; those with a user
    part only, and with the function `having` in it, if that is asked for."""
    counts = collections.Counter()
    for thread in profile.find(**which):
        names = {}
        for row in thread.samples():
            if row.stack not in names:
                names[row.stack] = tuple(function_name(location) for location, category in thread.frames(row.stack)
                                         if category != "Kernel")
            if names[row.stack] and (having is None or having in names[row.stack]):
                counts[names[row.stack]] += 1
    return [(samples, names) for names, samples in counts.most_common()]


def chain_share(profile, *chain, **which):
    """The share of samples with a user part whose stack is rooted at the first function and has the others in this order;
    others may be in between. Names or compiled patterns."""
    chains = user_chains(profile, **which)
    expect(chains, f"no samples with a user part of {which}")
    return sum(samples for samples, names in chains if is_chain(names, chain)) / sum(samples for samples, _ in chains)


def has_chain(profile, *chain, **which):
    return chain_share(profile, *chain, **which) > 0


def describe_truncated(profile, most=8):
    """What there is to know of stacks that are not complete, for the one who reads that there are too many."""
    cut = [(samples, names) for samples, names in user_chains(profile) if names[0].startswith("(truncated")]
    lines = [f"{name}: {count}" for name, count in user_stacks(profile).items() if count]
    for samples, names in cut[:most]:
        shown = names if len(names) < 10 else [*names[:4], f"... {len(names) - 8} more ...", *names[-4:]]
        lines.append(f"{samples} x " + " > ".join(name[:80] for name in shown))
    return "\n".join(lines)


def expect_complete(profile, least=0.99, samples=300):
    stacks = user_stacks(profile)
    expect(stacks["complete"] >= samples, f"only {stacks['complete']} complete stacks:\n{describe_truncated(profile)}")
    share = completeness(profile)
    expect(share >= least, f"only {100 * share:.2f} % of the stacks are complete:\n{describe_truncated(profile)}")


def expect_chain(profile, *chain, least=0.0, **which):
    """At least one stack, and this share of them, is rooted at the first function and has the others in this order."""
    share = chain_share(profile, *chain, **which)
    most = "\n".join(f"{samples} x {' > '.join(names)}" for samples, names in user_chains(profile, **which)[:5])
    expect(share > 0 and share >= least, f"{100 * share:.2f} % of the stacks have the calls {chain}; most are:\n{most}")


def is_chain(names, chain):
    """Whether `names`, from the root, begin with the first of `chain` and have the others in this order."""
    if not fits(names[0], chain[0]):
        return False
    rest = iter(names[1:])
    return all(any(fits(name, wanted) for name in rest) for wanted in chain[1:])


def fits(name, wanted):
    return bool(wanted.search(name)) if isinstance(wanted, re.Pattern) else name == wanted
