/** The health check of the image: 0 when the server in this container can serve requests. */
const answer = await fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).catch(() => null)
process.exitCode = answer?.ok ? 0 : 1
