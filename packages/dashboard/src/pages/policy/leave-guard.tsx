import { Button, Group, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { Dialog } from '../../components/dialog'
import { draftAt } from './draft-place'

/** Asks for confirmation before the user leaves unsaved changes. */
export function LeaveGuard({ isDirty }: { readonly isDirty: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && draftAt(current) !== draftAt(next),
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  })
  const stay = () => blocker.reset?.()
  return (
    <Dialog opened={blocker.status === 'blocked'} onClose={stay} title="Leave without saving?">
      <Stack gap="md">
        <Text>You have unsaved changes to this policy. They are lost if you leave.</Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={stay} data-autofocus>
            Stay
          </Button>
          <Button color="red.9" onClick={() => blocker.proceed?.()}>
            Leave
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
