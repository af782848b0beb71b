topic life
title Context of a one-shot timer: retained around the callback, released on invalidation
timer T delay=20 ctx
add T default
run default 1 no
note ran
drop T
--- golden
retain T
run default
retain T
timer T mode=default
release T
release T
ran default FINISHED
note ran
end
