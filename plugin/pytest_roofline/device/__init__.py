"""The device of a run and the machine around it: selection, memory, clocks, power, energy, CPUs and limits."""
