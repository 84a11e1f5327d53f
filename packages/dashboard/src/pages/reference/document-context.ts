import { createContext, useContext } from 'react'
import type { Schemas } from '../../api/openapi'

/** What every part of the reference looks up. */
export interface Catalogue {
  readonly schemas: Schemas
  /** The codes of all problems. */
  readonly codes: ReadonlySet<string>
}

export const CatalogueContext = createContext<Catalogue>({ schemas: {}, codes: new Set() })

export const useCatalogue = (): Catalogue => useContext(CatalogueContext)
