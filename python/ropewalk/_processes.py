"""The processes of a training run, by torch.distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class Processes:
    """The processes of a process group; only this one where torch.distributed is not initialised."""

    def __init__(self, group: Any = None) -> None:
        from torch import distributed

        self._group = group
        self._runs = distributed.is_available() and distributed.is_initialized()

    def rank(self) -> int:
        from torch import distributed

        return int(distributed.get_rank(self._group)) if self._runs else 0

    def count(self) -> int:
        from torch import distributed

        return int(distributed.get_world_size(self._group)) if self._runs else 1

    def all(self, value: Any) -> list[Any]:
        """Gathers the values of all processes in each of them. Collective."""
        from torch import distributed

        values = [value] * self.count()
        if len(values) > 1:
            distributed.all_gather_object(values, value, self._group)
        return values

    def send(self, to: int, capsule: Any) -> None:
        """Sends an array of the library to another process."""
        from torch import distributed
        from torch.utils.dlpack import from_dlpack

        distributed.send(from_dlpack(capsule).to(self._device()), self._name(to), self._group)

    def receive(self, sender: int, capsule: Any) -> None:
        """Fills an array of the library with what another process sends."""
        import torch
        from torch import distributed
        from torch.utils.dlpack import from_dlpack

        numbers = from_dlpack(capsule)
        come = torch.empty_like(numbers, device=self._device())
        distributed.recv(come, self._name(sender), self._group)
        numbers.copy_(come)

    def _name(self, rank: int) -> int:
        from torch import distributed

        return rank if self._group is None else int(distributed.get_global_rank(self._group, rank))

    def _device(self) -> torch.device:
        """The device of the tensors that the group's backend can send."""
        import torch
        from torch import distributed

        backend = str(distributed.get_backend(self._group))
        return torch.device("cpu") if "gloo" in backend or "mpi" in backend else torch.device("cuda", torch.cuda.current_device())
