"""FLOPs of one operation: its call in; FLOPs of its matrix arithmetic out.

`formulas` are pure functions of shapes. `matrix_operations`, `attention` and `sparse` say of each operation which one
it takes.
"""
