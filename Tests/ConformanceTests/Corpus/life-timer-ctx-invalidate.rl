topic life
title Invalidating a timer releases its context once
timer T delay=2000 ctx
add T default
invalidate T; invalidate T
note done
drop T
--- golden
retain T
release T
note done
end
