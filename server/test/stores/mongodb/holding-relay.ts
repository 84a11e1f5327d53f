import { type AddressInfo, connect, createServer, type Server } from 'node:net'

interface HoldingRelay {
  readonly url: string
  close(): void
}

/** A relay that holds what is sent first of a command, until something was done. */
export async function relayTo(
  to: string,
  hold: { readonly before: string; readonly run: () => Promise<void> },
): Promise<HoldingRelay> {
  const target = new URL(to.replace(/^mongodb/, 'http'))
  const [port, hostname] = [Number(target.port), target.hostname]
  let held: Promise<void> | null = null
  const server: Server = createServer((socket) => {
    const upstream = connect(port, hostname)
    const end = () => {
      socket.destroy()
      upstream.destroy()
    }
    for (const one of [socket, upstream]) one.on('error', end).on('close', end)
    upstream.pipe(socket)
    socket.on('data', async (chunk) => {
      if (chunk.includes(hold.before)) {
        held ??= hold.run()
        await held
      }
      upstream.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  target.port = String((server.address() as AddressInfo).port)
  target.searchParams.delete('replicaSet')
  target.searchParams.set('directConnection', 'true')
  return { url: target.href.replace(/^http/, 'mongodb'), close: () => server.close() }
}
