/** A witness that follows C2SP tlog-witness to the letter, for one log. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Checkpoint,
  cosignature,
  cosignedMessage,
  NoteError,
  type NoteKey,
  noteKeyId,
  ProofError,
  parseCheckpoint,
  parseNote,
  signatureLine,
  verifierKey,
  verifyConsistency,
  verifyNoteByKeys,
} from '@countersign/audit-log'
import type { Jwks } from '@countersign/contract'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'

const NAME = 'witness.example/w1'
const BODY = /^old (0|[1-9]\d*)\n((?:[A-Za-z0-9+/]{43}=\n)*)\n([\s\S]+)$/

interface Refusal {
  readonly status: 400 | 403 | 404 | 409 | 422
  readonly size?: number
}

export class StrictWitness {
  url = ''
  /** The last that it has signed. */
  latest: Checkpoint | null = null
  /** How it answered, in order. */
  readonly statuses: number[] = []
  readonly verifierKey: string
  /** Called before each answer. */
  before: () => void = () => {}
  readonly #pair = generateKeyPairSync('ed25519')
  readonly #key: NoteKey
  readonly #server: Server

  /** @param origin of the log that it knows */
  constructor(
    private readonly origin: string,
    private readonly keySet: Jwks,
  ) {
    const publicKey = this.#pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    this.#key = { name: NAME, type: 4, publicKey: new Uint8Array(publicKey) }
    this.verifierKey = verifierKey(this.#key)
    this.#server = createServer(async (req, res) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of req) chunks.push(chunk)
      this.before()
      const answer = await this.#answer(`${req.method} ${req.url}`, Buffer.concat(chunks).toString())
      const status = typeof answer === 'string' ? 200 : answer.status
      this.statuses.push(status)
      const size = typeof answer === 'string' ? undefined : answer.size
      res.writeHead(status, { 'Content-Type': size === undefined ? 'text/plain' : 'text/x.tlog.size' })
      res.end(typeof answer === 'string' ? answer : size === undefined ? '' : `${size}\n`)
    })
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/prefix`
    return this
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(request: string, body: string): Promise<string | Refusal> {
    const [, old, lines, note] = BODY.exec(body) ?? []
    if (request !== 'POST /prefix/add-checkpoint' || old === undefined || lines === undefined || note === undefined)
      return { status: 400 }
    const proof = lines.split('\n').slice(0, -1)
    if (proof.length > 63) return { status: 400 }
    const parsed = parseNote(note)
    const checkpoint = parseCheckpoint(parsed.text)
    if (checkpoint.origin !== this.origin) return { status: 404 }
    const { publicKeys, verify } = trustedKeysOf(this.keySet)
    try {
      await verifyNoteByKeys(parsed, publicKeys, verify)
    } catch (error) {
      if (error instanceof NoteError) return { status: 403 }
      throw error
    }
    return this.#signed(Number(old), proof, checkpoint, parsed.text)
  }

  #signed(old: number, proof: readonly string[], checkpoint: Checkpoint, text: string): string | Refusal {
    if (old > checkpoint.size) return { status: 400 }
    const size = this.latest?.size ?? 0
    if (old !== size) return { status: 409, size }
    if (old === 0 && proof.length > 0) return { status: 422 }
    if (this.latest !== null) {
      if (old === checkpoint.size && Buffer.compare(checkpoint.root, this.latest.root) !== 0)
        return { status: 409, size }
      const hashes = proof.map((hash) => new Uint8Array(Buffer.from(hash, 'base64')))
      try {
        verifyConsistency(this.latest, checkpoint, hashes)
      } catch (error) {
        if (error instanceof ProofError) return { status: 422 }
        throw error
      }
    }
    this.latest = checkpoint
    return this.#lineOf(text, this.#key) + this.#lineOf(text, { ...this.#key, name: 'witness.example/other' })
  }

  /** It has another key, which its clients need not know. */
  #lineOf(text: string, key: NoteKey): string {
    const atSeconds = Math.floor(Date.now() / 1000)
    const signature = new Uint8Array(sign(null, cosignedMessage(text, atSeconds), this.#pair.privateKey))
    return signatureLine({ name: key.name, keyId: noteKeyId(key), signature: cosignature(atSeconds, signature) })
  }
}
