import { type FixedPath, isFixedPath, type Json, type JsonObject } from '@countersign/contract'
import type { EngineRequest, Facts } from './request.js'

/** A parsed path of a condition or of a `$ref`. */
export interface Path {
  readonly source: string
  readonly root: FixedPath | 'context' | 'agent'
  /** The fields to follow, for the roots `context` and `agent`. */
  readonly fields: readonly string[]
}

const NO_FIELDS: readonly string[] = []

/** Parses a path. */
export type PathParser = (source: string) => Path

/**
 * A parser that returns one object per path. Policies name the same few paths again and again, and shared objects stay
 * in the processor's cache. Drop it after a compilation, because it keeps everything that it has parsed.
 */
export function sharingPaths(): PathParser {
  const known = new Map<string, Path>()
  return (source) => {
    const path = known.get(source) ?? parsePath(source)
    known.set(source, path)
    return path
  }
}

export function parsePath(source: string): Path {
  if (isFixedPath(source)) return { source, root: source, fields: NO_FIELDS }
  const [root, ...fields] = source.split('.')
  if ((root !== 'context' && root !== 'agent') || fields.length === 0) throw new TypeError(`${source} is not a path`)
  return { source, root, fields }
}

/** Returns the value at the path; undefined when there is none. */
export function readPath(path: Path, request: EngineRequest, facts: Facts): Json | undefined {
  switch (path.root) {
    case 'context':
      return readFields(request.context, path.fields)
    case 'agent':
      return readFields(facts.metadata, path.fields)
    case 'agent_id':
      return request.agent_id
    case 'action':
      return request.action
    case 'resource':
      return request.resource ?? undefined
    case 'resource.type':
      return splitResource(request.resource)?.type
    case 'resource.id':
      return splitResource(request.resource)?.id
    case 'now.hour':
      return facts.now.getUTCHours()
    case 'now.weekday':
      return facts.now.getUTCDay() || 7
  }
}

/** Reads only own properties of objects: neither a prototype nor the entries of an array can be reached. */
function readFields(from: JsonObject | null, fields: readonly string[]): Json | undefined {
  let value: Json | undefined = from
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] as string
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, field))
      return undefined
    value = (value as JsonObject)[field]
  }
  return value
}

function splitResource(resource: string | null): { type: string; id: string } | undefined {
  const colon = resource?.indexOf(':') ?? -1
  if (resource === null || colon === -1) return undefined
  return { type: resource.slice(0, colon), id: resource.slice(colon + 1) }
}
