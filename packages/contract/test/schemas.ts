import * as contract from '@countersign/contract'
import { z } from 'zod'

const exported: Readonly<Record<string, unknown>> = contract

/** Every schema that the package exports, with its name. */
export const schemas = Object.entries(exported).filter(
  (entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType,
)
