"""The order in which blocks of a program should run, so that lanes that took different ways meet again.

The compiler's layout will not do: it may put the place where two sides of a branch meet above one of them,
as it does when it turns a loop round. A block here comes after every block that leads to it, loops apart,
and after all blocks of a loop it does not belong to. So lanes wait behind a branch for its longer side,
and after a loop for its last lane, as they do on a GPU.
"""

from collections.abc import Sequence


def ranks(successors: Sequence[Sequence[int]]) -> list[int]:
    """The place of each block in that order; `successors` are the blocks each one may go on with."""
    before: list[set[int]] = [set() for _ in successors]
    for block, following in enumerate(successors):
        for one in following:
            before[one].add(block)
    order: list[int] = []
    _place(set(range(len(successors))), successors, before, order)
    found = [0] * len(order)
    for rank, block in enumerate(order):
        found[block] = rank
    return found


def _place(
    blocks: set[int], successors: Sequence[Sequence[int]], before: list[set[int]], order: list[int]
) -> None:
    """Append `blocks` to `order`: loops one after the other, in each its head and then the rest likewise."""
    for component in reversed(_components(blocks, successors)):
        if len(component) == 1:
            order += component
            continue
        heads = [block for block in component if before[block] - component]
        head = min(heads or component)
        order.append(head)
        _place(component - {head}, successors, before, order)


def _components(blocks: set[int], successors: Sequence[Sequence[int]]) -> list[set[int]]:
    """Loops (strongly connected components) among `blocks`, each after those it leads to: Tarjan, 1972."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[set[int]] = []
    for root in sorted(blocks, reverse=True):
        calls = [] if root in index else [(root, iter(()))]
        while calls:
            block, following = calls[-1]
            if block not in index:
                index[block] = low[block] = len(index)
                path.append(block)
                on_path.add(block)
                following = iter(sorted(blocks.intersection(successors[block]), reverse=True))
                calls[-1] = (block, following)
            step = next(following, None)
            if step is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[block])
                if low[block] == index[block]:
                    at = path.index(block)
                    found.append(set(path[at:]))
                    on_path.difference_update(path[at:])
                    del path[at:]
            elif step not in index:
                calls.append((step, iter(())))
            elif step in on_path:
                low[block] = min(low[block], index[step])
    return found
