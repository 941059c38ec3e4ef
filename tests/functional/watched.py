# SPDX-License-Identifier: Apache-2.0

"""The common part of tests that stop at each seam."""

import logging


class Watched:
    """Two hosts, and at no instant is one of them beyond its cap.

    To be mixed with operations.TestCase.
    """

    HOSTS = ('host1', 'host2')

    def setUp(self) -> None:
        super().setUp()
        self.beyond: list[str] = []
        # Each message would be formatted.
        logging.getLogger().setLevel(logging.WARNING)
        self.small, self.large = self.flavor(300), self.flavor(600)

    def look(self, host: str) -> None:
        """Note in *beyond* what kernel or claims have too much."""
        self.beyond += self.kernel(host).over_cap(self.CAP)
        if host in self.computes:
            self.beyond += [f'{host}: pCPU {cpu} is claimed for {ppm}'
                            for cpu, ppm in self.used(host).items()
                            if ppm > self.CAP]
