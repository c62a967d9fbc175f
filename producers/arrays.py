"""Names for the numpy arrays that the simulator passes around."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]
