import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { eraseRequest } from '../../api/audit'
import { forgetRequests } from '../../api/query-client'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { ErasureConsequences } from '../../components/erasure'

/** The button that erases the request of a decision, with its confirmation. */
export function EraseRequest({ id }: { readonly id: string }) {
  const [isOpen, dialog] = useDisclosure()
  return (
    <>
      <Button size="xs" variant="default" onClick={dialog.open}>
        Erase the request
      </Button>
      <ConfirmDialog
        title="Erase the request of this decision?"
        opened={isOpen}
        onClose={dialog.close}
        action="Erase"
        isDangerous
        run={async () => {
          await eraseRequest(id)
          await forgetRequests()
        }}
      >
        <ErasureConsequences />
      </ConfirmDialog>
    </>
  )
}
