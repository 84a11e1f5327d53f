import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { DomainError } from '../domain-error.js'

/** So many bytes of answers to one API key may wait for their reader. */
const BYTES_PER_KEY = 16 * 1024 * 1024

/**
 * What is held in memory because a caller has not read it, by API key. Beyond a bound the key gets no answers that can be
 * large; what it decides and changes goes on: such an answer is no larger than
 * its request allows, at most that of a policy.
 */
export class UnreadAnswers {
  private readonly bytes = new Map<string, number>()
  private readonly held = new WeakMap<Socket, Set<() => void>>()

  constructor(private readonly bytesPerKey: number = BYTES_PER_KEY) {}

  /** How many bytes of all keys are held. */
  get total(): number {
    return [...this.bytes.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Why the key gets no more to read; null while it may. */
  refusal(keyId: string): DomainError | null {
    if ((this.bytes.get(keyId) ?? 0) < this.bytesPerKey) return null
    return new DomainError('rate_limited', {
      detail: `${this.bytesPerKey} bytes of responses to this key are still unread. Read them, then retry.`,
      headers: { 'Retry-After': '1' },
    })
  }

  /** @throws DomainError rate_limited */
  assertRoom(keyId: string): void {
    const refusal = this.refusal(keyId)
    if (refusal !== null) throw refusal
  }

  /** Counts an answer until its last byte has left, or its connection is gone. */
  hold(keyId: string, bytes: number, res: ServerResponse): void {
    const { socket } = res.req
    if (socket.destroyed) return
    const ofSocket = this.held.get(socket) ?? this.watch(socket)
    this.bytes.set(keyId, (this.bytes.get(keyId) ?? 0) + bytes)
    const release = (): void => {
      if (!ofSocket.delete(release)) return
      const left = (this.bytes.get(keyId) ?? 0) - bytes
      if (left > 0) this.bytes.set(keyId, left)
      else this.bytes.delete(keyId)
    }
    ofSocket.add(release)
    res.once('close', release)
  }

  /** An answer that still waits for its turn on the connection is not told when that is gone. */
  private watch(socket: Socket): Set<() => void> {
    const releases = new Set<() => void>()
    this.held.set(socket, releases)
    socket.once('close', () => {
      for (const release of releases) release()
    })
    return releases
  }
}
