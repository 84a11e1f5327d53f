/** Answers with the built dashboard. Every page is `index.html`; in the browser, the path selects the page. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { DomainError } from '../../domain-error.js'
import type { Reply } from '../reply.js'

/** The files of the dashboard by path: `/index.html`, `/dashboard/assets/…`. */
export type DashboardFiles = ReadonlyMap<string, Buffer>

const NONCE = '__CSP_NONCE__'
const ASSETS = '/dashboard/assets/'
/** Pages that every caller gets. Any other path is a page only for a browser that navigates to it. */
const PAGES = new Set(['/', '/docs'])

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
}
const COMPRESSIBLE = /^(text|image\/svg|application\/json)/

const compress = promisify(gzip)

interface Body {
  readonly plain: Buffer
  /** Null when compression would not make it smaller. */
  readonly zipped: Buffer | null
}

export class DashboardPages {
  private readonly bodies = new Map<string, Promise<Body>>()
  private loaded: Promise<DashboardFiles> | null = null

  /** @param load reads the files once, at the first request for one of them */
  constructor(private readonly load: () => Promise<DashboardFiles>) {}

  /** Returns the template of the path for the log and the metrics; null when the dashboard has nothing at this path. */
  templateOf(path: string, headers: IncomingHttpHeaders): string | null {
    if (path.startsWith(ASSETS)) return `${ASSETS}{name}`
    if (path.startsWith('/v1/') || path.startsWith('/dashboard/')) return null
    if (PAGES.has(path)) return path
    return (headers.accept ?? '').includes('text/html') ? '/{page}' : null
  }

  /** @throws DomainError not_found */
  async answer(path: string, headers: IncomingHttpHeaders): Promise<Reply> {
    const files = await this.files()
    if (!path.startsWith(ASSETS)) return page(files.get('/index.html') as Buffer)
    const file = files.get(path)
    if (file === undefined) throw new DomainError('not_found')
    const type = MEDIA_TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    const body = await this.bodyOf(path, file, type)
    const takesGzip = body.zipped !== null && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
    return {
      status: 200,
      headers: {
        'Content-Type': type,
        // The file name of an asset contains a hash of its content.
        'Cache-Control': 'public, max-age=31536000, immutable',
        ...(body.zipped !== null && { Vary: 'Accept-Encoding' }),
        ...(takesGzip && { 'Content-Encoding': 'gzip' }),
      },
      text: takesGzip ? (body.zipped as Buffer) : body.plain,
    }
  }

  /** A failed read is tried again at the next request. */
  private async files(): Promise<DashboardFiles> {
    this.loaded ??= this.load()
    try {
      return await this.loaded
    } catch (error) {
      this.loaded = null
      throw new Error('The dashboard cannot be read. Is it built? (npm run build)', { cause: error })
    }
  }

  private bodyOf(path: string, plain: Buffer, type: string): Promise<Body> {
    const known = this.bodies.get(path)
    if (known !== undefined) return known
    const made = COMPRESSIBLE.test(type)
      ? compress(plain, { level: 9 }).then((zipped) => ({ plain, zipped }))
      : Promise.resolve({ plain, zipped: null })
    this.bodies.set(path, made)
    return made
  }
}

/**
 * Only our own files may run as scripts. Libraries insert styles into the page, which the browser accepts by the nonce
 * of this answer.
 */
function page(html: Buffer): Reply {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    status: 200,
    headers: { 'Content-Type': MEDIA_TYPES.html as string, 'Content-Security-Policy': policy.join(';') },
    text: html.toString().replaceAll(NONCE, nonce),
  }
}
