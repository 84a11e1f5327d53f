import { createContext, useContext } from 'react'
import type { Schemas } from '../../api/openapi'

/** What the parts of the reference look up. */
export interface Catalogue {
  readonly schemas: Schemas
  readonly codes: ReadonlySet<string>
}

export const CatalogueContext = createContext<Catalogue>({ schemas: {}, codes: new Set() })

export const useCatalogue = (): Catalogue => useContext(CatalogueContext)
