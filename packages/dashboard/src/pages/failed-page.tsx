import { Button, Container, Group, Stack, Title } from '@mantine/core'
import { ErrorNotice } from '../components/notice'

/** Replaces a page that crashed. The menu stays. */
export function FailedPage({ error }: { readonly error: unknown }) {
  return (
    <Stack>
      <Title order={1}>Something went wrong on this page</Title>
      <ErrorNotice error={error} title="The dashboard has a bug here. Nothing was changed." />
      <Group>
        <Button variant="default" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </Group>
    </Stack>
  )
}

/** The same, where there is no menu. */
export function FailedWindow({ error }: { readonly error: unknown }) {
  return (
    <Container size="xs" py="xl" component="main">
      <FailedPage error={error} />
    </Container>
  )
}
