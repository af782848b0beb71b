topic life
title Context of a repeating timer, invalidated in its callback
slow 2
timer T delay=20 interval=20 ctx
on T #2: invalidate T; note in-callback
add T default
run default 1 no
--- golden
retain T
run default
retain T
timer T mode=default
release T
retain T
timer T mode=default
release T
note in-callback
release T
ran default FINISHED
end
