"""A small JAX training loop that reads its loss in every step, to be captured by `stepscope run` without a change."""
import jax
import jax.numpy as jnp


def initial(key, layers=6, width=512):
    keys = jax.random.split(key, 2 * layers)
    return [(0.02 * jax.random.normal(keys[2 * i], (width, 4 * width)), 0.02 * jax.random.normal(keys[2 * i + 1], (4 * width, width))) for i in range(layers)]


def loss(parameters, x):
    for up, down in parameters:
        x = x + jax.nn.gelu(x @ up) @ down
    return (x**2).mean()


@jax.jit
def step(parameters, x):
    value, gradients = jax.value_and_grad(loss)(parameters, x)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradients), value


parameters, x = initial(jax.random.PRNGKey(0)), jax.random.normal(jax.random.PRNGKey(1), (4096, 512))
for number in range(20):
    parameters, value = step(parameters, x)
    last = float(value)
print("loss", last)
