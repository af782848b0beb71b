topic life
title Items without context callbacks trace nothing
source0 S
timer T delay=20
observer O entry
add S default; add T default; add O default
invalidate S; invalidate T; invalidate O
drop S; drop T; drop O
note done
--- golden
note done
end
