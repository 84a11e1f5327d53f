import { KeyName } from '../../components/key-name'

/** The key that created a key. The first start and the command line create keys without one. */
export function CreatedBy({ id }: { readonly id: string | null }) {
  return id === null ? <span className="quiet">the server</span> : <KeyName id={id} />
}
