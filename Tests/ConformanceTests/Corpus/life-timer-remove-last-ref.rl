topic life
title Removing the timer from its mode drops the last reference
slow 2
timer T delay=3000 ctx
source0 K
add K default
at 200: note unused
add T default
remove T default
note removed
drop T
note dropped
--- golden
retain T
note removed
release T
note dropped
end
