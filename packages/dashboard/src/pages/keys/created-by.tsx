import { KeyName } from '../../components/key-name'

/** Which key made a key. Nobody made those of the first start and of the command line. */
export function CreatedBy({ id }: { readonly id: string | null }) {
  return id === null ? <span className="quiet">the server</span> : <KeyName id={id} />
}
