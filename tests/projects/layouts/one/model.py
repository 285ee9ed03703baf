from layers import Layer


class Model(Layer):
    """nparam: 2"""
