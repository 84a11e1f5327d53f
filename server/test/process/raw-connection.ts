/** One TCP connection, so that a test decides which part of a request leaves when. */
import { connect, type Socket } from 'node:net'
import { until } from '@countersign/testkit'

export class RawConnection {
  received = ''
  isClosed = false

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.received += text
    })
    socket.once('close', () => {
      this.isClosed = true
    })
    // Told by isClosed too.
    socket.on('error', () => {})
  }

  /** Rejects when nobody listens. */
  static open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.off('error', reject)
        resolve(new RawConnection(socket))
      })
      socket.once('error', reject)
    })
  }

  /** Resolves when the kernel has taken it. */
  send(text: string): Promise<void> {
    return new Promise((resolve, reject) => this.socket.write(text, (error) => (error ? reject(error) : resolve())))
  }

  close(): void {
    this.socket.destroy()
  }

  /** The whole answer, once the server has closed the connection after it. */
  async answer(): Promise<string> {
    await until(`the end of a connection that got ${JSON.stringify(this.received)}`, () => this.isClosed || undefined)
    return this.received
  }
}
